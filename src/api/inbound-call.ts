// A call as it came in, before anybody knows what it says.

import { blockOf, findClientAddress } from "../domain/client-address.ts";
import { type Arrival, readArrival } from "../domain/warning.ts";
import type { InboundKind } from "../store/tables/inbound.ts";
import type { AppContext, AppDeps, AppEnv } from "./deps.ts";

export interface InboundCall {
	kind: InboundKind;
	method: string;
	target: string;
	/** The addresses it comes from, for budgets; null where all callers look the same. Found only when it is asked for. */
	findBlock(): string | null;
}

export function readInboundCall(
	c: AppContext,
	deps: Pick<AppDeps, "trustedProxies">,
	kind: InboundKind,
): InboundCall {
	return {
		kind,
		method: c.req.method,
		target: requestTarget(c),
		findBlock: () => callerBlock(c, deps),
	};
}

/** Reads what Node parsed: making the web's headers of it costs more than all the rest of a call that is not taken. */
export function callerBlock(
	c: AppContext,
	{ trustedProxies }: Pick<AppDeps, "trustedProxies">,
): string | null {
	const { socket, headers } = incomingOf(c) ?? {};
	const forwardedFor = headers?.["x-forwarded-for"];
	// Node joins a header that is there twice, but its type allows for a list.
	const forwarded = Array.isArray(forwardedFor) ? forwardedFor.join(",") : forwardedFor;
	return blockOf(findClientAddress(socket?.remoteAddress, forwarded, trustedProxies));
}

export function targetQuery(target: string): URLSearchParams {
	const start = target.indexOf("?");
	return new URLSearchParams(start === -1 ? "" : target.slice(start + 1));
}

/**
 * As the caller wrote and signed it. The URL of the Request object will not do: building it resolves dots and
 * re-encodes characters, and a signature over the other spelling would not match.
 */
function requestTarget(c: AppContext): string {
	const onTheWire = incomingOf(c)?.url;
	// A proxy may send the absolute form (RFC 9112, section 3.2.2); what is signed is path and query alone.
	if (onTheWire !== undefined) return onTheWire.replace(/^https?:\/\/[^/?]*/i, "");
	const { pathname, search } = new URL(c.req.url);
	return pathname + search;
}

/** What of a request tells how it reached us; read from what Node parsed, as above. */
export function arrivalOf(c: AppContext): Arrival {
	const { socket, headers } = incomingOf(c) ?? {};
	return readArrival((name) => headers?.[name]?.toString(), socket?.remoteAddress);
}

function incomingOf(c: AppContext): AppEnv["Bindings"]["incoming"] {
	const bindings: AppEnv["Bindings"] | undefined = c.env;
	return bindings?.incoming;
}
