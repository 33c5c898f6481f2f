// A message for the next page, after a form was taken: in a signed cookie that lives a minute and is shown once.
// Never for secrets: those are shown in the answer itself.

import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { z } from "zod";
import { cookieName } from "../domain/cookie-name.ts";
import { createSigner } from "../domain/signing.ts";
import { cookieOptions } from "./cookie-options.ts";
import type { WebDeps } from "./deps.ts";
import type { Flash } from "./document.ts";
import type { FlashCookie, WebContext } from "./env.ts";

const FLASH_SECONDS = 60;
/** A cookie has room for 4,096 bytes, and base64 takes a third more. */
const MAX_TEXT_LENGTH = 800;

const FLASH = z.object({ tone: z.enum(["good", "bad", "warn", "info"]), text: z.string() });

export function setFlash(c: WebContext, tone: Flash["tone"], text: string): void {
	c.get("flashCookie").set(c, { tone, text });
}

export function createFlashCookie({ sealingKey, publicUrl }: WebDeps): FlashCookie {
	const signer = createSigner(sealingKey, "flash");
	const name = cookieName(publicUrl, "flash");
	const options = cookieOptions(publicUrl);
	return {
		set(c, { tone, text }) {
			const json = JSON.stringify({ tone, text: text.slice(0, MAX_TEXT_LENGTH) });
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
