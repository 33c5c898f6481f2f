// For Hono: app.all("/postback", createHonoReceiver({ … })).
// `c.req.raw` keeps the whole path, also in an app that is mounted below another. A middleware before it that
// reads the body by `c.req.json()` takes the signed bytes away: it then answers 500 and says so in the log.

import { openReceiver, type ReceiverSource } from "../receiver.ts";
import type { WebContext, WebRequest, WebResponse } from "../web-handler.ts";

/** What is used of Hono's `Context`. */
type HonoContext = { readonly req: { readonly raw: WebRequest }; readonly executionCtx: object };

export function createHonoReceiver(source: ReceiverSource): (c: HonoContext) => Promise<WebResponse> {
	const { fetch } = openReceiver(source);
	return (c) => fetch(c.req.raw, findContext(c));
}

function findContext(c: HonoContext): WebContext {
	try {
		return c.executionCtx;
	} catch {
		// Hono throws where the runtime has none: on a server of one's own the process lives on, and none is needed.
		return undefined;
	}
}
