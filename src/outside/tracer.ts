// Spans on their way to an OpenTelemetry collector, by OTLP over HTTP with JSON: gathered, sent in batches beside the
// work, and dropped where nobody takes them. Nothing here ever holds up or fails what is traced.

import { MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import { isTraceTaken, type TracingSetting } from "../domain/trace.ts";
import type { FinishedSpan, Log, Random, Tracer } from "../ports.ts";
import { readErrorCode } from "./error-code.ts";

export interface OtlpTracer extends Tracer {
	/** Sends what waits, for a few seconds at most. */
	stop(): Promise<void>;
}

/** A few seconds of a busy process; beyond it spans are dropped and counted. */
const MAX_WAITING = 4_096;
const MAX_BATCH = 512;
const SEND_EVERY_MS = 2 * SECOND_MS;
const SEND_TIMEOUT_MS = 5 * SECOND_MS;
const LOG_INTERVAL_MS = MINUTE_MS;
const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;

/** By their numbers in OTLP. */
const KINDS: Readonly<Record<FinishedSpan["kind"], number>> = { internal: 1, server: 2, client: 3 };
const STATUS_ERROR = 2;

export function createOtlpTracer(
	setting: TracingSetting,
	{ random, log, scope }: { random: Random; log: Log; scope: { name: string; version: string } },
): OtlpTracer {
	let waiting: FinishedSpan[] = [];
	let dropped = 0;
	let toldAtMs = Number.NEGATIVE_INFINITY;
	let sending: Promise<void> | null = null;
	const timer = setInterval(send, SEND_EVERY_MS).unref();
	const resource = { attributes: attributesOf(setting.resource) };

	function send(): void {
		sending ??= sendAll().finally(() => {
			sending = null;
		});
	}

	async function sendAll(): Promise<void> {
		while (waiting.length > 0) {
			const batch = waiting.slice(0, MAX_BATCH);
			waiting = waiting.slice(MAX_BATCH);
			const problem = await post(batch);
			if (problem === null) continue;
			dropped += batch.length;
			tell(problem);
			return;
		}
	}

	/** Null when they were taken. */
	async function post(batch: readonly FinishedSpan[]): Promise<string | null> {
		const spans = batch.map(spanOf);
		try {
			const answer = await fetch(setting.endpoint, {
				method: "POST",
				headers: { ...setting.headers, "content-type": "application/json" },
				body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] }),
				signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
				redirect: "error",
			});
			await answer.arrayBuffer();
			return answer.ok ? null : `it answered ${answer.status}`;
		} catch (error) {
			return describeFailure(error);
		}
	}

	function tell(reason: string): void {
		const nowMs = performance.now();
		if (nowMs - toldAtMs < LOG_INTERVAL_MS) return;
		toldAtMs = nowMs;
		log.warn(
			{ reason, dropped },
			"traces could not be sent to OTEL_EXPORTER_OTLP_ENDPOINT; they are dropped",
		);
		dropped = 0;
	}

	return {
		begin(parent) {
			const traceId = parent?.traceId ?? random.hex(TRACE_ID_BYTES);
			if (!isTraceTaken(setting.sampling, parent, traceId)) return null;
			return { traceId, spanId: random.hex(SPAN_ID_BYTES), isSampled: true };
		},
		below: ({ traceId }) => ({ traceId, spanId: random.hex(SPAN_ID_BYTES), isSampled: true }),
		end(span) {
			if (waiting.length >= MAX_WAITING) dropped++;
			else waiting.push(span);
			if (waiting.length >= MAX_BATCH) send();
		},
		async stop() {
			clearInterval(timer);
			await sending;
			await sendAll();
		},
	};
}

function spanOf({
	context,
	parentSpanId,
	name,
	kind,
	startMs,
	endMs,
	attributes,
	error,
}: FinishedSpan): object {
	return {
		traceId: context.traceId,
		spanId: context.spanId,
		...(parentSpanId === null ? {} : { parentSpanId }),
		name,
		kind: KINDS[kind],
		startTimeUnixNano: inNanoseconds(startMs),
		endTimeUnixNano: inNanoseconds(Math.max(startMs, endMs)),
		attributes: attributesOf(attributes),
		...(error === undefined ? {} : { status: { code: STATUS_ERROR, message: error } }),
	};
}

function attributesOf(values: FinishedSpan["attributes"]): object[] {
	return Object.entries(values).map(([key, value]) => ({ key, value: attributeValue(value) }));
}

/** Whole numbers are text in OTLP's JSON, and the conventions want a status as one. */
function attributeValue(value: string | number): object {
	if (typeof value === "string") return { stringValue: value };
	return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** As text: JSON's numbers end at 2^53. */
function inNanoseconds(ms: number): string {
	return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}

/** Not its message, which may repeat the address or a header. */
function describeFailure(error: unknown): string {
	const cause = error instanceof Error ? error.cause : undefined;
	const code = readErrorCode(cause ?? error);
	return code === "UNKNOWN" && error instanceof Error ? error.name : code;
}
