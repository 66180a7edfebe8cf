import { defineConfig } from 'vitest/config'
import { SHARED, UNITS } from './vitest.shared.js'

// For use while editing.
export default defineConfig({ test: { ...SHARED, ...UNITS, maxWorkers: '100%' } })
