// A trace: spans of work that belong together, across processes. Contexts as W3C's Trace Context writes them
// (traceparent), and whether a trace is taken.

export interface TraceContext {
	/** 32 hex digits, not all of them 0. */
	traceId: string;
	/** 16 hex digits of the span that comes before. */
	spanId: string;
	isSampled: boolean;
}

/** As OTEL_TRACES_SAMPLER names them. Those that are parent-based follow a caller that has decided. */
export const SAMPLERS = [
	"always_on",
	"always_off",
	"traceidratio",
	"parentbased_always_on",
	"parentbased_always_off",
	"parentbased_traceidratio",
] as const;

export interface Sampling {
	sampler: (typeof SAMPLERS)[number];
	/** Of traces that begin here, 0 to 1: for those with a ratio. */
	ratio: number;
}

/** Where spans go, and which are taken. */
export interface TracingSetting {
	/** Where they are posted to. */
	endpoint: string;
	headers: Readonly<Record<string, string>>;
	/** What the service is called, and what else is said of it. */
	resource: Readonly<Record<string, string>>;
	sampling: Sampling;
}

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;
const SAMPLED_FLAG = 1;

/** Null for whatever is none: a stranger may send anything. */
export function readTraceparent(text: string | undefined): TraceContext | null {
	const [, version, traceId = "", spanId = "", flags = ""] = TRACEPARENT.exec(text ?? "") ?? [];
	if (version === undefined || version === "ff" || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
	return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED_FLAG) === SAMPLED_FLAG };
}

export function writeTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
	return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** The same answer in every process, because it follows from the trace's own number. */
export function isTraceTaken(
	{ sampler, ratio }: Sampling,
	parent: TraceContext | null,
	traceId: string,
): boolean {
	const own = sampler.replace(/^parentbased_/, "");
	if (own !== sampler && parent !== null) return parent.isSampled;
	if (own === "traceidratio") return Number.parseInt(traceId.slice(-8), 16) < ratio * 2 ** 32;
	return own === "always_on";
}
