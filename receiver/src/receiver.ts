// A receiver that does everything that contract section 4.3 asks of a shop, for every kind of server.

import { boundBody } from "./body-collector.ts";
import { isObject } from "./json.ts";
import { answerNode, type NodeRequest, type NodeResponse } from "./node-handler.ts";
import { type ReceiverOptions, readOptions } from "./receiver-options.ts";
import { type Arrival, type OpenArrival, type Reception, receive } from "./reception.ts";
import { reportError } from "./report.ts";
import { answerWeb, type WebContext, type WebRequest, type WebResponse } from "./web-handler.ts";

export type Receiver = {
	/** For servers with web-standard requests: Deno, Bun, edge runtimes, Hono, Next.js. */
	readonly fetch: (request: WebRequest, context?: WebContext) => Promise<WebResponse>;
	/** For `node:http` and frameworks built on it. Resolves when the work is done too, and never rejects. */
	readonly node: (request: NodeRequest, response: NodeResponse) => Promise<void>;
	/** For any other server. Send the answer first and then call `finish`, if there is one. */
	readonly receive: (arrival: Arrival) => Promise<Reception>;
	/** Resolves when the work of all acknowledged events is done. Wait for it before the process ends. */
	readonly settled: () => Promise<void>;
};

/** Input of an adapter: options, or an existing receiver whose `settled` its owner needs. */
export type ReceiverSource = ReceiverOptions | Receiver;

/** Creates a receiver. Throws only here, if an option is wrong. */
export function createReceiver(options: ReceiverOptions): Receiver {
	const settings = readOptions(options);
	const inWork = new Set<Promise<void>>();

	function count(work: Promise<void>): Promise<void> {
		const counted = work.finally(() => inWork.delete(counted));
		inWork.add(counted);
		return counted;
	}

	/** For callers that may never call finish. The work counts from its start. */
	async function receiveTracked(arrival: OpenArrival): Promise<Reception> {
		const { answer, finish } = await receive(settings, arrival);
		if (finish === undefined) return { answer };
		let finished: Promise<void> | undefined;
		return {
			answer,
			// Returns the same promise for repeated calls, so that the work is done once.
			finish: () => {
				finished ??= count(finish());
				return finished;
			},
		};
	}

	/**
	 * For the handlers in this package, which always call finish. The work counts while its answer is still
	 * being sent.
	 */
	async function receiveToFinish(arrival: OpenArrival): Promise<Reception> {
		const { answer, finish } = await receiveTracked(arrival);
		if (finish === undefined) return { answer };
		let end = (): void => undefined;
		void count(
			new Promise((resolve) => {
				end = resolve;
			}),
		);
		return { answer, finish: () => finish().finally(end) };
	}

	return {
		fetch: (request, context) =>
			answerWeb(receiveToFinish, request, context, (error) => reportError(settings, error)),
		node: (request, response) => answerNode(receiveToFinish, request, response),
		receive: ({ body, ...arrival }) =>
			receiveTracked({ ...arrival, readBody: async (maxBytes) => boundBody(body, maxBytes) }),
		settled: async () => {
			await Promise.all(inWork);
		},
	};
}

export function openReceiver(source: ReceiverSource): Receiver {
	if (!isObject(source) || !("node" in source && "fetch" in source)) return createReceiver(source);
	if ("onEvent" in source || "secret" in source) {
		throw new TypeError("Give either options or a receiver: beside a receiver, options would not count.");
	}
	return source;
}
