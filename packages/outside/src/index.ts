export { AddressRanges } from './address-ranges';
export { Circuit, NotNow, Unreachable } from './circuit';
export { OutsideCalls, type OutsideRequest, type OutsideResponse, outsideCall } from './outside-call';
export { ClosedAddress, ownMachineToo, Reach, type Resolve, usualReach } from './reach';
