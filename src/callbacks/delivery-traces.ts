// The way of a callback as spans, where its conversion is traced: the pass that handed it out, and each attempt below it.
// The trace is read from the store, because another process may have taken the call.

import type { TraceContext } from "../domain/trace.ts";
import { isSuccess } from "../domain/verdict.ts";
import type { Log, PostbackAnswer, Tracer } from "../ports.ts";
import type { DueDelivery } from "../store/queue.ts";
import type { Store } from "../store/store.ts";
import { findTraces } from "../store/traces.ts";

export interface DeliveryTraces {
	/** To be awaited before they are sent. Never rejects: what cannot be traced is sent all the same. */
	handOut(deliveries: readonly DueDelivery[], startMs: number, endMs: number): Promise<void>;
	attempt(delivery: DueDelivery, url: string, answer: PostbackAnswer, startMs: number, endMs: number): void;
}

/** Twice of what can be in hand: those that were given back are forgotten by the way. */
const MAX_KEPT = 16_384;

export function createDeliveryTraces({
	tracer,
	store,
	log,
}: {
	tracer: Tracer;
	store: Pick<Store, "db">;
	log: Log;
}): DeliveryTraces {
	/** By delivery: the span of the pass that handed it out. */
	const handouts = new Map<number, TraceContext>();

	return {
		async handOut(deliveries, startMs, endMs) {
			if (deliveries.length === 0) return;
			if (handouts.size > MAX_KEPT) handouts.clear();
			const found = await findTraces(
				store.db,
				deliveries.map(({ id }) => id),
			).catch((error: unknown) => {
				log.warn({ err: error }, "the traces of callbacks could not be read");
				return new Map<number, TraceContext>();
			});
			for (const { id, eventName, counted } of deliveries) {
				const parent = found.get(id);
				if (parent === undefined) continue;
				const context = tracer.below(parent);
				handouts.set(id, context);
				tracer.end({
					context,
					parentSpanId: parent.spanId,
					name: "hand out",
					kind: "internal",
					startMs,
					endMs,
					attributes: { "ringback.event": eventName, "ringback.attempt": counted + 1 },
				});
			}
		},
		attempt(delivery, url, { outcome, timings }, startMs, endMs) {
			const parent = handouts.get(delivery.id);
			if (parent === undefined) return;
			handouts.delete(delivery.id);
			const status = outcome.kind === "answered" ? outcome.status : null;
			const hasFailed = status === null || !isSuccess(status);
			tracer.end({
				context: tracer.below(parent),
				parentSpanId: parent.spanId,
				name: "attempt",
				kind: "client",
				startMs,
				endMs,
				attributes: {
					"http.request.method": "POST",
					// Not the path or the query: they may hold what only the shop knows.
					"server.address": new URL(url).hostname,
					"ringback.event": delivery.eventName,
					"ringback.attempt": delivery.counted + 1,
					"ringback.outcome": outcome.kind,
					...(status === null ? {} : { "http.response.status_code": status }),
					...(timings.connectMs === null ? {} : { "ringback.connect_ms": timings.connectMs }),
					...(timings.answerMs === null ? {} : { "ringback.answer_ms": timings.answerMs }),
				},
				...(hasFailed ? { error: status === null ? outcome.kind : `HTTP ${status}` } : {}),
			});
		},
	};
}
