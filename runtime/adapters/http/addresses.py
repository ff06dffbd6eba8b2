"""Which network addresses may be connected to.

A tool server's name is configured, but its address is whatever a name server says at that moment; without this check
it could be the metadata service, or something that trusts whoever can reach it.
"""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address

# RFC 6052 and RFC 8215: the last 32 bits are an IPv4 address behind a translator.
_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))


class AddressPolicy:
    """Public unicast addresses, and what the deployment allows beside them (CIDR notation)."""

    def __init__(self, allowed_networks: Sequence[str] = ()) -> None:
        self._allowed = tuple(ip_network(network) for network in allowed_networks)

    def permits(self, address: str) -> bool:
        """Return whether one may connect to this address; every address hidden in it must be permitted, too."""
        return all(self._permits(each) for each in _with_hidden(ip_address(address)))

    def _permits(self, address: Address) -> bool:
        if any(address in network for network in self._allowed):
            return True
        return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _with_hidden(address: Address) -> Iterator[Address]:
    """Return the addresses that decide. A mapped IPv4 address is only another spelling, so it decides alone."""
    if isinstance(address, IPv4Address):
        yield address
    elif address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    else:
        yield address
        if address.sixtofour is not None:
            yield address.sixtofour
        if address.teredo is not None:
            yield from address.teredo
        if any(address in network for network in _TRANSLATED):
            yield IPv4Address(int(address) & 0xFFFFFFFF)
