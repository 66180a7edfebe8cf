import { describe } from 'vitest'
import { describeContract } from './contract.js'

describe('the service on memory', () => describeContract('memory', () => 'memory'))
