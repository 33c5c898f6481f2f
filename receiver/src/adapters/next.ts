// For a Next.js route handler: export const POST = createNextReceiver({ …, after }).
// Give the secret as a function: `next build` loads the route where the setting is not there yet. A route does
// not see the request's own path and query: `basePath` is cut off and the query is written anew. Give `path`.

import { openReceiver, type ReceiverSource } from "../receiver.ts";
import type { WebRequest, WebResponse } from "../web-handler.ts";

export type NextReceiverOptions = ReceiverSource & {
	/** `after` of `next/server`: without it a serverless function may be frozen before the work is done. */
	readonly after?: ((work: Promise<unknown>) => unknown) | undefined;
};

export function createNextReceiver(
	options: NextReceiverOptions,
): (request: WebRequest) => Promise<WebResponse> {
	const { fetch } = openReceiver(options);
	const { after } = options;
	const context = after === undefined ? undefined : { waitUntil: after };
	return (request) => fetch(request, context);
}
