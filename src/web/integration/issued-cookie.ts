// What is shown once, on its way from the form that issued it to the page that shows it: sealed, for a minute, in
// a cookie that the page takes away as it shows it. Never in an address; all that is kept is that it was shown.

import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { z } from "zod";
import { readJson } from "../../domain/json.ts";
import { openSecret, SEALING_IV_BYTES, sealSecret } from "../../domain/sealing.ts";
import { sha256Hex } from "../../domain/signature.ts";
import { MINUTE_MS, SECOND_MS } from "../../domain/time.ts";
import { cookieName } from "../../people/signed-cookies.ts";
import { countUse } from "../../store/queries/limit-counts.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import { cookieOptions, type WebContext, type WebDeps } from "../page.ts";

const ISSUED = z.object({
	use: z.literal("issued"),
	/** Where it is to be shown; the others leave it alone. */
	tab: z.enum(["callbacks", "keys"]),
	personId: z.number(),
	expiresAtMs: z.number(),
	key: z.string().nullable(),
	secret: z.string().nullable(),
});

export type Issued = Pick<z.infer<typeof ISSUED>, "key" | "secret">;
type IssuedTab = z.infer<typeof ISSUED>["tab"];

const COOKIE = "issued";
const SHOWN_WITHIN_MS = MINUTE_MS;
/**
 * That it was shown is kept as a limit of one use, the same for every process and after a restart; longer than the
 * cookie is good, because another machine's clock may be behind.
 */
const SHOWN_ONCE = { max: 1, windowMs: SHOWN_WITHIN_MS + 5 * MINUTE_MS };

type CookieDeps = Pick<WebDeps, "sealingKey" | "random" | "clock" | "publicUrl">;

export function handOverIssued(
	c: WebContext,
	deps: CookieDeps,
	programme: Programme,
	personId: number,
	tab: IssuedTab,
	issued: Issued,
): void {
	const expiresAtMs = deps.clock.nowMs() + SHOWN_WITHIN_MS;
	const text = JSON.stringify({ use: "issued", tab, personId, expiresAtMs, ...issued });
	const sealed = sealSecret(deps.sealingKey, programme.id, text, deps.random.bytes(SEALING_IV_BYTES));
	const options = { ...cookieOptions(deps.publicUrl, "Strict"), maxAge: SHOWN_WITHIN_MS / SECOND_MS };
	setCookie(c, cookieName(deps.publicUrl, COOKIE), sealed, options);
}

/** Forgets it, too: a reload shows nothing, and neither does whoever kept the cookie and puts it back. */
export async function takeIssued(
	c: WebContext,
	deps: CookieDeps & Pick<WebDeps, "store">,
	programme: Programme,
	personId: number,
	tab: IssuedTab,
): Promise<Issued | null> {
	const name = cookieName(deps.publicUrl, COOKIE);
	const sealed = getCookie(c, name);
	if (sealed === undefined) return null;
	const text = openSecret(deps.sealingKey, programme.id, sealed);
	// A signing secret from the database, sealed alike, is no JSON.
	const parsed = text === null ? null : ISSUED.safeParse(readJson(text));
	if (parsed?.data !== undefined && parsed.data.tab !== tab) return null;
	deleteCookie(c, name, cookieOptions(deps.publicUrl, "Strict"));
	if (parsed?.success !== true) return null;
	const { key, secret, expiresAtMs } = parsed.data;
	const isTheirs = parsed.data.personId === personId && expiresAtMs >= deps.clock.nowMs();
	if (!isTheirs) return null;
	// By its bytes: base64 can write the same ones in several ways.
	const subject = `issued ${sha256Hex(Buffer.from(sealed, "base64"))}`;
	const isFirst = await countUse(deps.store.db, subject, SHOWN_ONCE, deps.clock.nowMs());
	return isFirst ? { key, secret } : null;
}
