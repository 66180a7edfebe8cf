import { compilePathPattern, type PathPattern } from '@tidegate/http'
import { compileRegExp } from '../../linear-regexp.js'
import { invalid } from './argument.js'

/**
 * A Spring path pattern, such as `/red/{segment}`, `/red/{id:\d+}`, `/red/{*rest}`, `/red/**` or `/red/a?c*`. Unlike in
 * rules, letter case matters, as in Spring.
 */
export function parsePathPattern(text: string): PathPattern {
  // A literal ';' could never match: path parameters are removed before the comparison.
  if (/;(?![^{]*\})/.test(text))
    throw invalid(`${JSON.stringify(text)} has a ';', which begins a path parameter; remove it`)
  return compilePathPattern(text, {
    ignoreCase: false,
    invalid: invalid,
    expression(source) {
      const compiled = compileRegExp(source)
      if ('problem' in compiled) throw invalid(`${JSON.stringify(text)}: ${compiled.problem}`)
      return compiled
    },
  })
}
