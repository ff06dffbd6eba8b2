"""Finds orders of events that break a promise: the real slices, under every fault that a queue and a cloud allow.

Nothing runs by itself. A process stops before each call of the outside, and one move at a time is chosen: let a process
go on, let it die, lose a reply, let time pass, let somebody speak or a tool answer. The same moves give the same run.
"""
