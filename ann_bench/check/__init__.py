"""The conformance kit: does an entry keep the contract, also on data that trips it?

Each check is a rule (`docs/check.md`) and the cases that try it. A case runs through the real worker in the real
sandbox, and its answers go through the judge's own tests, so that what is found here is what a run would find.
"""
