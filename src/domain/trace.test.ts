import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { isTraceTaken, readTraceparent, type Sampling, writeTraceparent } from "./trace.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";

describe("a traceparent", () => {
	const cases: readonly [text: string | undefined, isSampled: boolean | null][] = [
		[`00-${TRACE_ID}-${SPAN_ID}-01`, true],
		[`00-${TRACE_ID}-${SPAN_ID}-00`, false],
		[`00-${TRACE_ID}-${SPAN_ID}-03`, true],
		[`01-${TRACE_ID}-${SPAN_ID}-01-more`, true],
		[`ff-${TRACE_ID}-${SPAN_ID}-01`, null],
		[`00-${"0".repeat(32)}-${SPAN_ID}-01`, null],
		[`00-${TRACE_ID}-${"0".repeat(16)}-01`, null],
		[`00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`, null],
		[`00-${TRACE_ID}-01`, null],
		["'; drop table traces", null],
		[undefined, null],
	];
	for (const [text, isSampled] of cases) {
		test(String(text), () => {
			const expected = isSampled === null ? null : { traceId: TRACE_ID, spanId: SPAN_ID, isSampled };
			deepEqual(readTraceparent(text), expected);
			if (expected !== null) deepEqual(readTraceparent(writeTraceparent(expected)), expected);
		});
	}
});

describe("whether a trace is taken", () => {
	const parent = (isSampled: boolean) => ({ traceId: TRACE_ID, spanId: SPAN_ID, isSampled });
	const low = `${"a".repeat(24)}3fffffff`;
	const high = `${"a".repeat(24)}40000000`;
	const cases: readonly [
		sampler: Sampling["sampler"],
		parentSampled: boolean | null,
		traceId: string,
		isTaken: boolean,
	][] = [
		["always_on", null, high, true],
		["always_on", false, high, true],
		["always_off", true, low, false],
		["traceidratio", null, low, true],
		["traceidratio", null, high, false],
		["traceidratio", true, high, false],
		["parentbased_always_on", null, high, true],
		["parentbased_always_on", false, high, false],
		["parentbased_always_off", null, low, false],
		["parentbased_always_off", true, low, true],
		["parentbased_traceidratio", null, low, true],
		["parentbased_traceidratio", null, high, false],
		["parentbased_traceidratio", true, high, true],
	];
	for (const [sampler, parentSampled, traceId, isTaken] of cases) {
		test(`${sampler}, the caller ${parentSampled === null ? "says nothing" : parentSampled ? "wants it" : "does not want it"}`, () => {
			const from = parentSampled === null ? null : parent(parentSampled);
			equal(isTraceTaken({ sampler, ratio: 0.25 }, from, traceId), isTaken);
		});
	}
});
