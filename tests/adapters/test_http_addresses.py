import pytest

from runtime.adapters.http.addresses import AddressPolicy


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:93.184.215.14"])
def test_public_addresses_are_permitted(address: str) -> None:
    assert AddressPolicy().permits(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",  # noqa: S104 - an address to refuse
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "169.254.170.2",
        "198.18.0.1",
        "192.0.2.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001:db8::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:10.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::7f00:1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "2001:0:7f00:1::1",
    ],
)
def test_private_loopback_metadata_and_reserved_addresses_are_refused_however_they_are_spelled(address: str) -> None:
    assert not AddressPolicy().permits(address)


def test_what_the_deployment_allows_is_permitted_and_nothing_beside_it() -> None:
    policy = AddressPolicy(["10.1.0.0/16", "::1/128"])

    assert policy.permits("10.1.2.3")
    assert policy.permits("::ffff:10.1.2.3")
    assert policy.permits("::1")
    assert not policy.permits("10.2.0.1")
    assert not policy.permits("127.0.0.1")


@pytest.mark.parametrize("address", ["2002:7f00:1::", "2001:0:7f00:1::1"])
def test_an_address_that_tunnels_to_a_refused_one_is_refused_even_if_the_tunnel_is_allowed(address: str) -> None:
    assert not AddressPolicy(["2002::/16", "2001::/32"]).permits(address)
