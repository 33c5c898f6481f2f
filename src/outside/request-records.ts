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
import type { AnsweredRequest, Random, RequestRecord } from "../ports.ts";
import type { ServeRequest } from "./connection-guard.ts";

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
	trustedProxies: readonly AddressRange[];
	onAnswered(request: AnsweredRequest): void;
}

export type RecordedIncoming = IncomingMessage & { record?: RequestRecord };

export function recordRequests(serve: ServeRequest, options: RecordingOptions): ServeRequest {
	const { random, trustedProxies, onAnswered } = options;
	return (incoming: RecordedIncoming, outgoing) => {
		const startedAtMs = performance.now();
		const { socket, headers, method = "" } = incoming;
		// A connection that is gone has no address any more.
		const { bytesWritten: sentBefore, remoteAddress } = socket;
		const record: RequestRecord = {
			id: findId(headers[ID_HEADER], random),
			route: null,
			programme: null,
			traceId: readTraceId(headers[TRACE_HEADER]?.toString()),
		};
		incoming.record = record;
		if (outgoing instanceof RecordedResponse) outgoing.record = record;
		outgoing.once("close", () => {
			const endedAtMs = performance.now();
			const headAtMs = outgoing instanceof RecordedResponse ? outgoing.headAtMs : null;
			onAnswered({
				...record,
				method,
				status: headAtMs === null ? null : outgoing.statusCode,
				headMs: (headAtMs ?? endedAtMs) - startedAtMs,
				tookMs: endedAtMs - startedAtMs,
				sentBytes: socket.bytesWritten - sentBefore,
				findAddress: () =>
					findClientAddress(remoteAddress, headers["x-forwarded-for"]?.toString(), trustedProxies),
			});
		});
		return serve(incoming, outgoing);
	};
}

function findId(given: string | string[] | undefined, random: Random): string {
	return typeof given === "string" && SANE_ID.test(given) ? given : random.hex(ID_BYTES);
}

/** W3C's Trace Context. */
const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(?:-.*)?$/;

/** Null for whatever is none: a stranger may send anything. */
export function readTraceId(traceparent: string | undefined): string | null {
	const [, version, traceId = "", spanId = ""] = TRACEPARENT.exec(traceparent ?? "") ?? [];
	if (version === undefined || version === "ff" || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
	return traceId;
}
