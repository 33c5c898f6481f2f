// Unwraps the results of use cases, which all succeed in the demo.

import type { Result } from "#core/domain/fault.ts";

export function must<Value>(result: Result<Value>): Value {
	if (result.ok) return result.value;
	throw new Error(result.fault.detail);
}
