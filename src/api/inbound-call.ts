// A call as it came in, before anybody knows what it says.

import { blockOf, findClientAddress } from "../domain/client-address.ts";
import type { InboundKind } from "../store/tables/inbound.ts";
import type { AppContext, AppDeps, AppEnv } from "./deps.ts";
import { requestTarget } from "./request-target.ts";

export interface InboundCall {
	kind: InboundKind;
	method: string;
	target: string;
	/** The addresses it comes from, for budgets; null where all callers look the same. */
	block: string | null;
}

export function readInboundCall(
	c: AppContext,
	deps: Pick<AppDeps, "trustedProxies">,
	kind: InboundKind,
): InboundCall {
	return { kind, method: c.req.method, target: requestTarget(c), block: callerBlock(c, deps) };
}

/** Reads what Node parsed: making the web's headers of it costs more than all the rest of a call that is not taken. */
export function callerBlock(
	c: AppContext,
	{ trustedProxies }: Pick<AppDeps, "trustedProxies">,
): string | null {
	const bindings: AppEnv["Bindings"] | undefined = c.env;
	const { socket, headers } = bindings?.incoming ?? {};
	const forwardedFor = headers?.["x-forwarded-for"];
	// Node joins a header that is there twice, but its type allows for a list.
	const forwarded = Array.isArray(forwardedFor) ? forwardedFor.join(",") : forwardedFor;
	return blockOf(findClientAddress(socket?.remoteAddress, forwarded, trustedProxies));
}
