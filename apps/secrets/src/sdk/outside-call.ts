export { OutsideCalls, type OutsideResponse, outsideCall } from '@keystead/outside';
