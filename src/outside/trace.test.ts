import { equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { readTraceId } from "./trace.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";

describe("a traceparent", () => {
	const cases: readonly [text: string | undefined, traceId: string | null][] = [
		[`00-${TRACE_ID}-${SPAN_ID}-01`, TRACE_ID],
		[`00-${TRACE_ID}-${SPAN_ID}-00`, TRACE_ID],
		[`01-${TRACE_ID}-${SPAN_ID}-01-more`, TRACE_ID],
		[`ff-${TRACE_ID}-${SPAN_ID}-01`, null],
		[`00-${"0".repeat(32)}-${SPAN_ID}-01`, null],
		[`00-${TRACE_ID}-${"0".repeat(16)}-01`, null],
		[`00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`, null],
		[`00-${TRACE_ID}-01`, null],
		["'; drop table traces", null],
		[undefined, null],
	];
	for (const [text, traceId] of cases) test(String(text), () => equal(readTraceId(text), traceId));
});
