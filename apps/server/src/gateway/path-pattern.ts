import { compilePathPattern, type PathPattern } from '@tidegate/http'
import { compileRegExp } from '../linear-regexp.js'
import { unfit } from './argument.js'

/**
 * A Spring path pattern, such as `/red/{segment}`, `/red/{id:\d+}`, `/red/{*rest}`, `/red/**` or `/red/a?c*`. Unlike in
 * rules, letter case matters, as in Spring.
 */
export function parsePathPattern(text: string): PathPattern {
  // A literal ';' could never match: lenient paths have no parameters.
  if (/;(?![^{]*\})/.test(text))
    throw unfit(`${JSON.stringify(text)} has a ';', which begins a parameter. Remove it.`)
  return compilePathPattern(text, {
    ignoreCase: false,
    invalid: unfit,
    expression(source) {
      const compiled = compileRegExp(source)
      if ('problem' in compiled) throw unfit(`${JSON.stringify(text)}: ${compiled.problem}`)
      return compiled
    },
  })
}
