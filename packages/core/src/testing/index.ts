export { type ConformanceOptions, type Skip, testStore } from './conformance.js'
export { type Random, randomFrom } from './random.js'
export { ReferenceStore } from './reference-store.js'
export { type RandomTrace, randomTrace, runTrace, type TraceOptions, type TraceStep } from './trace.js'
