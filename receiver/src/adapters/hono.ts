// Adapter for Hono: app.all("/postback", createHonoReceiver({ … })). `c.req.raw` has the whole path, even in
// an app that is mounted below another. If an earlier middleware reads the body with `c.req.json()`, the
// signed bytes are lost, and the receiver answers 500 and logs the reason.

import { openReceiver, type ReceiverSource } from "../receiver.ts";
import type { WebContext, WebRequest, WebResponse } from "../web-handler.ts";

/** The part of Hono's `Context` that the adapter uses. */
type HonoContext = { readonly req: { readonly raw: WebRequest }; readonly executionCtx: object };

export function createHonoReceiver(source: ReceiverSource): (c: HonoContext) => Promise<WebResponse> {
	const { fetch } = openReceiver(source);
	return (c) => fetch(c.req.raw, findContext(c));
}

function findContext(c: HonoContext): WebContext {
	try {
		return c.executionCtx;
	} catch {
		// Hono throws if the runtime has no execution context. An ordinary server needs none, because its process
		// stays alive.
		return undefined;
	}
}
