// Adapter for a Next.js route handler: export const POST = createNextReceiver({ …, after }). Pass the secret
// as a function, because `next build` loads the route before the setting exists. Also pass `path`, because a
// route handler does not see the original path and query. Next.js removes `basePath` and rewrites the query.

import { openReceiver, type ReceiverSource } from "../receiver.ts";
import type { WebRequest, WebResponse } from "../web-handler.ts";

export type NextReceiverOptions = ReceiverSource & {
	/**
	 * The function `after` of `next/server`. Without it, a serverless function may be frozen before the shop's
	 * handler has finished.
	 */
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
