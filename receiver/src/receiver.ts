// A receiver that does everything section 4.3 of the contract asks of a shop, for every kind of server.

import { boundBody } from "./body-collector.ts";
import { answerNode, type NodeRequest, type NodeResponse } from "./node-handler.ts";
import { type ReceiverOptions, readOptions } from "./receiver-options.ts";
import { type Arrival, type OpenArrival, type Reception, receive } from "./reception.ts";
import { answerWeb, type WebContext, type WebRequest, type WebResponse } from "./web-handler.ts";

export type Receiver = {
	/** For servers with web-standard requests: Deno, Bun, edge runtimes, Hono, Next.js. */
	readonly fetch: (request: WebRequest, context?: WebContext) => Promise<WebResponse>;
	/** For `node:http` and what is built on it. Resolves when the work is done, too; never rejects. */
	readonly node: (request: NodeRequest, response: NodeResponse) => Promise<void>;
	/** For any other server: send the answer, and only then call `finish`, if there is one. */
	readonly receive: (arrival: Arrival) => Promise<Reception>;
	/** Resolves when all work begun so far is done: wait for it before the process ends. */
	readonly settled: () => Promise<void>;
};

/** Throws at once, and only then, when an option is wrong. */
export function createReceiver(options: ReceiverOptions): Receiver {
	const settings = readOptions(options);
	const inWork = new Set<Promise<void>>();

	async function receiveTracked(arrival: OpenArrival): Promise<Reception> {
		const { answer, finish } = await receive(settings, arrival);
		if (finish === undefined) return { answer };
		let start = (): void => undefined;
		const started = new Promise<void>((resolve) => {
			start = resolve;
		});
		// One promise however often finish is called: the work is done once.
		const finished = started.then(finish).finally(() => inWork.delete(finished));
		inWork.add(finished);
		return {
			answer,
			finish: () => {
				start();
				return finished;
			},
		};
	}

	return {
		fetch: (request, context) => answerWeb(receiveTracked, request, context),
		node: (request, response) => answerNode(receiveTracked, request, response),
		receive: ({ body, ...arrival }) =>
			receiveTracked({ ...arrival, readBody: async (maxBytes) => boundBody(body, maxBytes) }),
		settled: async () => {
			await Promise.all(inWork);
		},
	};
}
