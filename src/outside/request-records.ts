// Every request gets a record: an id that its answer carries, and what it turns out to be while it is answered. When it
// is over, whoever counts and logs requests is told.

import {
	type IncomingMessage,
	type OutgoingHttpHeader,
	type OutgoingHttpHeaders,
	ServerResponse,
} from "node:http";
import type { AddressRange } from "../domain/address.ts";
import { findClientAddress } from "../domain/client-address.ts";
import { readTraceparent, type TraceContext } from "../domain/trace.ts";
import type { AnsweredRequest, FinishedSpan, Random, RequestRecord, Tracer } from "../ports.ts";
import type { ServeRequest } from "./request-queues.ts";

const ID_HEADER = "x-request-id";
const TRACE_HEADER = "traceparent";
/** What proxies and tracing tools make: a UUID, hex digits, a ULID. Nothing else gets into a log or an answer. */
const SANE_ID = /^[\w.:-]{8,64}$/;
const ID_BYTES = 8;

type Head = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** Node makes these itself, so that it takes a class. */
export class RecordedResponse extends ServerResponse {
	record: RequestRecord | null = null;
	/** When its head was written; null before. */
	headAtMs: number | null = null;

	override writeHead(status: number, statusMessage?: string, headers?: Head): this;
	override writeHead(status: number, headers?: Head): this;
	override writeHead(status: number, first?: string | Head, second?: Head): this {
		this.headAtMs = performance.now();
		const headers = typeof first === "string" ? second : first;
		// Not `setHeader`: Node would then sort all the others in, one by one.
		const all = Array.isArray(headers) ? headers : this.#withId(headers);
		return typeof first === "string" ? super.writeHead(status, first, all) : super.writeHead(status, all);
	}

	#withId(headers: OutgoingHttpHeaders | undefined): OutgoingHttpHeaders {
		return this.record === null ? { ...headers } : { ...headers, [ID_HEADER]: this.record.id };
	}
}

export interface RecordingOptions {
	random: Random;
	/** Null where nothing is traced. */
	tracer: Tracer | null;
	trustedProxies: readonly AddressRange[];
	onAnswered(request: AnsweredRequest): void;
}

export type RecordedIncoming = IncomingMessage & { record?: RequestRecord };

export function recordRequests(serve: ServeRequest, options: RecordingOptions): ServeRequest {
	const { random, trustedProxies, tracer, onAnswered } = options;
	return (incoming: RecordedIncoming, outgoing) => {
		const startedAtMs = performance.now();
		const { socket, headers, method = "" } = incoming;
		const sentBefore = socket.bytesWritten;
		const parent = tracer === null ? null : readTraceparent(headers[TRACE_HEADER]?.toString());
		const record: RequestRecord = {
			id: findId(headers[ID_HEADER], random),
			route: null,
			programme: null,
			trace: tracer?.begin(parent) ?? null,
		};
		incoming.record = record;
		if (outgoing instanceof RecordedResponse) outgoing.record = record;
		outgoing.once("close", () => {
			const endedAtMs = performance.now();
			const headAtMs = outgoing instanceof RecordedResponse ? outgoing.headAtMs : null;
			const answered: AnsweredRequest = {
				...record,
				method,
				status: headAtMs === null ? null : outgoing.statusCode,
				headMs: (headAtMs ?? endedAtMs) - startedAtMs,
				tookMs: endedAtMs - startedAtMs,
				sentBytes: socket.bytesWritten - sentBefore,
				findAddress: () =>
					findClientAddress(socket.remoteAddress, headers["x-forwarded-for"]?.toString(), trustedProxies),
			};
			onAnswered(answered);
			if (record.trace !== null) tracer?.end(spanOf(answered, record.trace, parent, startedAtMs));
		});
		return serve(incoming, outgoing);
	};
}

/** Names and attributes as OpenTelemetry's conventions for HTTP have them. */
function spanOf(
	{ id, method, route, status, programme, tookMs }: AnsweredRequest,
	context: TraceContext,
	parent: TraceContext | null,
	startedAtMs: number,
): FinishedSpan {
	const startMs = performance.timeOrigin + startedAtMs;
	return {
		context,
		parentSpanId: parent?.spanId ?? null,
		name: route === null ? method : `${method} ${route}`,
		kind: "server",
		startMs,
		endMs: startMs + tookMs,
		attributes: {
			"http.request.method": method,
			"ringback.request_id": id,
			...(route === null ? {} : { "http.route": route }),
			...(status === null ? {} : { "http.response.status_code": status }),
			...(programme === null ? {} : { "ringback.programme": programme }),
		},
		...(status === null ? { error: "aborted" } : status >= 500 ? { error: `HTTP ${status}` } : {}),
	};
}

function findId(given: string | string[] | undefined, random: Random): string {
	return typeof given === "string" && SANE_ID.test(given) ? given : random.hex(ID_BYTES);
}
