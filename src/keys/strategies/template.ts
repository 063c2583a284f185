/**
 * Makes keys from a template such as `{deviceId}-{createdAt|month}`. A template of text and placeholders gives text.
 * A single placeholder without filters gives the value itself and keeps its type. A missing value makes the whole key
 * missing, because an incomplete key would mix unrelated documents. null is a value and becomes `null`, as in JSON:
 * optional properties are often null, and refusing them would leave many documents behind.
 */
import { existing, whyUnfit } from './property.ts';
import type { Scalar } from '../../documents/scalar.ts';
import { isUnfit, textOf, type Unfit } from '../filters/filter.ts';
import { isSamePath, printPath } from '../path.ts';
import { show } from '../show.ts';
import type { Derived, Path, Placeholder, Strategy, Template, Value } from './strategy.ts';

/** Returns the strategy of a template. `text` is the template as the operator wrote it. */
export function concat(template: Template, text: string): Strategy {
  const [only, ...rest] = template;
  if (rest.length === 0 && typeof only === 'object' && only.filters.length === 0) return existing(only.path);
  const paths: Path[] = [];
  const parts = template.map((part) => {
    if (typeof part === 'string') return part;
    let index = paths.findIndex((path) => isSamePath(path, part.path));
    if (index < 0) index = paths.push(part.path) - 1;
    return { ...part, index };
  });
  return {
    paths,
    template,
    derive: (values) => join(parts, values),
    explain: (values) => explain(parts, values, text),
  };
}

type Part = string | (Placeholder & { readonly index: number });

function join(parts: readonly Part[], values: readonly Value[]): Derived {
  let text = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    const filled = fill(part, values[part.index]);
    if (filled === undefined) return { kind: 'missing', path: part.path };
    if (isUnfit(filled)) return { kind: 'invalid', path: part.path, why: filled.why };
    text += textOf(filled);
  }
  return { kind: 'value', value: text };
}

/**
 * Returns why an integer beyond 2^53 cannot be part of a text; undefined for any other value. Such an integer was
 * rounded to a double: two of them could give the same text, and an application with exact integers would compute
 * another text.
 */
function whyInexact(value: Value): string | undefined {
  const isInexact = typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return isInexact ? 'the number is beyond 2^53, where neighbours read alike' : undefined;
}

/** Applies the filters to a value; `step` receives each intermediate value. */
function fill(
  { filters }: Placeholder,
  value: Value,
  step?: (filter: string, result: Scalar | Unfit | undefined) => void,
): Scalar | Unfit | undefined {
  const why = whyUnfit(value) ?? whyInexact(value);
  if (why !== undefined) return { why };
  let result = value as Scalar | undefined;
  for (const { text, filter } of filters) {
    const next = result === undefined ? filter.standIn : filter.apply(result);
    step?.(text, next);
    if (isUnfit(next)) return next;
    result = next;
  }
  return result;
}

function explain(parts: readonly Part[], values: readonly Value[], text: string): string[] {
  const lines = parts
    .filter((part) => typeof part === 'object')
    .map((part) => {
      const value = values[part.index];
      let line = `${printPath(part.path)} is ${show(value)}`;
      const filled = fill(part, value, (filter, result) => {
        if (result === undefined || isUnfit(result)) return;
        line += `; ${filter} gives ${show(result)}`;
      });
      return isUnfit(filled) ? `${line}: ${filled.why}` : line;
    });
  // The explanation of a single placeholder already has the result.
  const derived = parts.length > 1 ? join(parts, values) : undefined;
  return derived?.kind === 'value' ? [...lines, `${text} gives ${show(derived.value)}`] : lines;
}
