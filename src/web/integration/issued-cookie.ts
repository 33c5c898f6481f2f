// What is shown once, on its way from the form that issued it to the page that shows it: sealed, for a minute, in
// a cookie that the page takes away as it shows it. Never in an address.

import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { z } from "zod";
import { readJson } from "../../domain/json.ts";
import { openSecret, SEALING_IV_BYTES, sealSecret } from "../../domain/sealing.ts";
import { MINUTE_MS, SECOND_MS } from "../../domain/time.ts";
import { cookieName } from "../../people/signed-cookies.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import { cookieOptions, viewerOf, type WebContext, type WebDeps } from "../page.ts";

const ISSUED = z.object({
	use: z.literal("issued"),
	personId: z.number(),
	expiresAtMs: z.number(),
	key: z.string().nullable(),
	secret: z.string().nullable(),
});

export type Issued = Pick<z.infer<typeof ISSUED>, "key" | "secret">;

const SHOWN_WITHIN_MS = MINUTE_MS;

type CookieDeps = Pick<WebDeps, "sealingKey" | "random" | "clock" | "publicUrl">;

export function handOverIssued(
	c: WebContext,
	deps: CookieDeps,
	programme: Programme,
	{ key, secret }: Issued,
): void {
	const expiresAtMs = deps.clock.nowMs() + SHOWN_WITHIN_MS;
	const text = JSON.stringify({ use: "issued", personId: viewerOf(c).personId, expiresAtMs, key, secret });
	const sealed = sealSecret(deps.sealingKey, programme.id, text, deps.random.bytes(SEALING_IV_BYTES));
	const options = { ...cookieOptions(deps.publicUrl, "Strict"), maxAge: SHOWN_WITHIN_MS / SECOND_MS };
	setCookie(c, nameFor(deps, programme), sealed, options);
}

/** One for each programme: the page of another must not take it away. */
function nameFor({ publicUrl }: CookieDeps, programme: Programme): string {
	return cookieName(publicUrl, `issued-${programme.public_id}`);
}

/** Forgets it, too: a reload shows nothing. */
export function takeIssued(c: WebContext, deps: CookieDeps, programme: Programme): Issued | null {
	const name = nameFor(deps, programme);
	const sealed = getCookie(c, name);
	if (sealed === undefined) return null;
	deleteCookie(c, name, cookieOptions(deps.publicUrl, "Strict"));
	const text = openSecret(deps.sealingKey, programme.id, sealed);
	// A signing secret from the database, sealed alike, is no JSON.
	const issued = text === null ? undefined : ISSUED.safeParse(readJson(text)).data;
	if (issued?.personId !== viewerOf(c).personId || issued.expiresAtMs < deps.clock.nowMs()) return null;
	return { key: issued.key, secret: issued.secret };
}
