// The transaction that stores calls, as a span of each that is traced: one transaction stores many.

import type { TraceContext } from "../domain/trace.ts";
import type { Tracer } from "../ports.ts";
import type { CallTraces, IntakeCall } from "./store-calls.ts";

const NONE: CallTraces = new Map();

export function beginTraces(tracer: Tracer | null, calls: readonly IntakeCall[]): CallTraces {
	if (tracer === null) return NONE;
	const traces = new Map<IntakeCall, TraceContext>();
	for (const call of calls) {
		const { trace } = call.inbound;
		if (trace !== null) traces.set(call, tracer.below(trace));
	}
	return traces;
}

export function endTraces(
	tracer: Tracer | null,
	traces: CallTraces,
	{ startMs, endMs, calls }: { startMs: number; endMs: number; calls: number },
	error?: unknown,
): void {
	for (const [{ inbound, requests }, context] of traces) {
		tracer?.end({
			context,
			parentSpanId: inbound.trace?.spanId ?? null,
			name: "store calls",
			kind: "internal",
			startMs,
			endMs,
			attributes: { "ringback.batch.calls": calls, "ringback.requests": requests.length },
			...(error === undefined ? {} : { error: error instanceof Error ? error.name : "failed" }),
		});
	}
}
