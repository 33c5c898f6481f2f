// The trace that a caller says its request belongs to, as W3C's Trace Context writes it (traceparent).

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(?:-.*)?$/;

/** Null for whatever is none: a stranger may send anything. */
export function readTraceId(traceparent: string | undefined): string | null {
	const [, version, traceId = "", spanId = ""] = TRACEPARENT.exec(traceparent ?? "") ?? [];
	if (version === undefined || version === "ff" || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
	return traceId;
}
