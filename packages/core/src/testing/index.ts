export { TEST_ENVIRONMENT } from '../resilience/index.js'
export type { Timers } from '../timers.js'
export { type ConformanceOptions, type Skip, testStore } from './conformance/index.js'
export { type Admission, findOverAdmission } from './history.js'
export { type Random, randomFrom } from './random.js'
export { ReferenceStore } from './reference-store.js'
export {
  type ReservationStep,
  randomReservationTrace,
  runReservationTrace,
} from './reservation-trace.js'
export {
  randomSlotTrace,
  runSlotTrace,
  type SlotResult,
  type SlotStep,
  type SlotTraceOptions,
} from './slot-trace.js'
export { type RandomTrace, randomTrace, runTrace, type TraceOptions, type TraceStep } from './trace.js'
