// Gives every incoming request a record with an id, which is also sent with the answer. When the request is
// over, the record is counted and logged.

import {
	type IncomingMessage,
	type OutgoingHttpHeader,
	type OutgoingHttpHeaders,
	ServerResponse,
} from "node:http";
import type { AddressRange } from "#core/domain/address.ts";
import { findClientAddress } from "#core/domain/client-address.ts";
import type { AnsweredRequest, Random, RequestRecord } from "#core/ports.ts";
import type { ServeRequest } from "./connection-guard.ts";

const ID_HEADER = "x-request-id";
const TRACE_HEADER = "traceparent";
/**
 * Form of the ids that proxies and tracing tools generate, such as a UUID, hex digits or a ULID. Ids of
 * another form are not used in logs and answers.
 */
const SANE_ID = /^[\w.:-]{8,64}$/;
/**
 * Number of random bytes in an id that the service generates. The id is stored with every call, and six bytes are
 * enough to tell the calls of a shop apart.
 */
const ID_BYTES = 6;

type Head = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** A response with a record. The class is needed, because Node creates the responses itself. */
export class RecordedResponse extends ServerResponse {
	record: RequestRecord | null = null;
	/** Time at which the headers were written, or null before that. */
	headAtMs: number | null = null;

	override writeHead(status: number, statusMessage?: string, headers?: Head): this;
	override writeHead(status: number, headers?: Head): this;
	override writeHead(status: number, first?: string | Head, second?: Head): this {
		this.headAtMs = performance.now();
		const headers = typeof first === "string" ? second : first;
		// `setHeader` is not used, because Node would then merge all other headers one by one.
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
		// The address is read at the start, because a closed connection has none.
		const { bytesWritten: sentBefore, remoteAddress } = socket;
		const record: RequestRecord = {
			id: findId(headers[ID_HEADER], random),
			route: null,
			programme: null,
			order: null,
			conversion: null,
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

/** Value of the `traceparent` header of W3C Trace Context. */
const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(?:-.*)?$/;

export function readTraceId(traceparent: string | undefined): string | null {
	const [, version, traceId = "", spanId = ""] = TRACEPARENT.exec(traceparent ?? "") ?? [];
	if (version === undefined || version === "ff" || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
	return traceId;
}
