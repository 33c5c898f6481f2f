// For a Next.js route handler: export const POST = createNextReceiver({ …, after }).
// Give the secret as a function: `next build` loads the route where the setting is not there yet. A route does
// not see the request's own path and query: `basePath` is cut off and the query is written anew. Give `path`.

import { createReceiver } from "../receiver.ts";
import type { ReceiverOptions } from "../receiver-options.ts";
import type { WebRequest, WebResponse } from "../web-handler.ts";

export type NextReceiverOptions = ReceiverOptions & {
	/** `after` of `next/server`: without it a serverless function may be frozen before the work is done. */
	readonly after?: ((work: Promise<unknown>) => unknown) | undefined;
};

export function createNextReceiver(
	options: NextReceiverOptions,
): (request: WebRequest) => Promise<WebResponse> {
	const { after, ...receiverOptions } = options;
	const { fetch } = createReceiver(receiverOptions);
	const context = after === undefined ? undefined : { waitUntil: after };
	return (request) => fetch(request, context);
}
