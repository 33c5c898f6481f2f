// A message for the next page, after a form was taken: in a signed cookie that lives a minute and is shown once, at the
// part of the page that it is about. Never for secrets: those are shown in the answer itself.

import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { z } from "zod";
import { cookieName } from "../domain/cookie-name.ts";
import { createSigner } from "../domain/signing.ts";
import { message } from "./components/blocks.ts";
import { cookieOptions } from "./cookie-options.ts";
import type { WebDeps } from "./deps.ts";
import type { Flash } from "./document.ts";
import type { FlashCookie, WebContext } from "./env.ts";
import type { Html } from "./html.ts";

const FLASH_SECONDS = 60;
/** A cookie has room for 4,096 bytes, and base64 takes a third more. */
const MAX_TEXT_LENGTH = 800;

const FLASH = z.object({
	tone: z.enum(["good", "bad", "warn", "info"]),
	text: z.string(),
	at: z.string().optional(),
});

/** `at`: the id of the part that it is about. The redirect must lead there, or nobody sees it. */
export function setFlash(c: WebContext, tone: Flash["tone"], text: string, at?: string): void {
	c.get("flashCookie").set(c, { tone, text, at });
}

/** What the last form came to, if it is about this part of the page. */
export function flashAt(c: WebContext, part: string): Html | null {
	const flash = readFlash(c);
	if (flash === null || flash.at !== part) return null;
	c.set("flash", null);
	return message(flash.tone, flash.text);
}

/** What no part of the page has shown. */
export function restOfFlash(c: WebContext): Flash | undefined {
	return readFlash(c) ?? undefined;
}

function readFlash(c: WebContext): Flash | null {
	const known: Flash | null | undefined = c.get("flash");
	if (known !== undefined) return known;
	// Forgotten as it is read; an error page may come before there is a cookie to ask.
	const taken = c.get("flashCookie")?.take(c) ?? null;
	c.set("flash", taken);
	return taken;
}

export function createFlashCookie({ sealingKey, publicUrl }: WebDeps): FlashCookie {
	const signer = createSigner(sealingKey, "flash");
	const name = cookieName(publicUrl, "flash");
	const options = cookieOptions(publicUrl);
	return {
		set(c, { tone, text, at }) {
			const json = JSON.stringify({ tone, text: text.slice(0, MAX_TEXT_LENGTH), at });
			const body = Buffer.from(json).toString("base64url");
			setCookie(c, name, `${body}.${signer.sign(body)}`, { ...options, maxAge: FLASH_SECONDS });
		},
		take(c) {
			const cookie = getCookie(c, name);
			if (cookie === undefined) return undefined;
			deleteCookie(c, name, options);
			const [body = "", signature = ""] = cookie.split(".");
			if (!signer.isSignature(signature, body)) return undefined;
			return FLASH.parse(JSON.parse(Buffer.from(body, "base64url").toString()));
		},
	};
}
