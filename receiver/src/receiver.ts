// A receiver that does everything that contract section 4.3 requires of a shop, for every kind of server.

import { boundBody } from "./body-collector.ts";
import { isObject } from "./json.ts";
import { answerNode, type NodeRequest, type NodeResponse } from "./node-handler.ts";
import { type ReceiverOptions, readOptions } from "./receiver-options.ts";
import { type Arrival, type OpenArrival, type Reception, receive } from "./reception.ts";
import { reportError } from "./report.ts";
import { answerWeb, type WebContext, type WebRequest, type WebResponse } from "./web-handler.ts";

export type Receiver = {
	/** Handler for servers with web-standard requests: Deno, Bun, edge runtimes, Hono, Next.js. */
	readonly fetch: (request: WebRequest, context?: WebContext) => Promise<WebResponse>;
	/**
	 * Handler for `node:http` and frameworks built on it. Resolves when the shop's handler has finished, too.
	 * Never rejects.
	 */
	readonly node: (request: NodeRequest, response: NodeResponse) => Promise<void>;
	/** Handler for any other server. Send the answer first, and then call `finish` if the result has it. */
	readonly receive: (arrival: Arrival) => Promise<Reception>;
	/**
	 * Resolves when the shop's handler has finished for all acknowledged events. Wait for it before the process
	 * ends.
	 */
	readonly settled: () => Promise<void>;
};

/** Input of an adapter, which is either options, or an existing receiver whose `settled` the shop needs. */
export type ReceiverSource = ReceiverOptions | Receiver;

/** Creates a receiver. Throws if an option is wrong. No other function of the receiver throws. */
export function createReceiver(options: ReceiverOptions): Receiver {
	const settings = readOptions(options);
	const inWork = new Set<Promise<void>>();

	function count(work: Promise<void>): Promise<void> {
		const counted = work.finally(() => inWork.delete(counted));
		inWork.add(counted);
		return counted;
	}

	/**
	 * Handles a request of a caller that may never call `finish`. `settled` waits for the work once `finish`
	 * has been called.
	 */
	async function receiveTracked(arrival: OpenArrival): Promise<Reception> {
		const { answer, finish } = await receive(settings, arrival);
		if (finish === undefined) return { answer };
		let finished: Promise<void> | undefined;
		return {
			answer,
			// Repeated calls return the same promise, so that the work is done once.
			finish: () => {
				finished ??= count(finish());
				return finished;
			},
		};
	}

	/**
	 * Handles a request of a caller in this package, which always calls `finish`. `settled` waits for the work
	 * even while the answer is still being sent.
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
