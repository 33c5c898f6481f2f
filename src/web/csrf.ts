// The hidden field that every form carries: bound to the reader's session or, before signing in, to a cookie of
// their visit, so that no other site can know it.

import { getCookie, setCookie } from "hono/cookie";
import { html } from "hono/html";
import { cookieName } from "../domain/cookie-name.ts";
import { createSigner } from "../domain/signing.ts";
import { cookieOptions } from "./cookie-options.ts";
import type { WebDeps } from "./deps.ts";
import type { FormGuard, WebContext } from "./env.ts";
import type { Html } from "./html.ts";

export const CSRF_FIELD = "csrf";
const VISIT_BYTES = 16;

export function csrfField(c: WebContext): Html {
	return html`<input type="hidden" name="${CSRF_FIELD}" value="${c.get("formGuard").token(c)}">`;
}

export function createFormGuard({ sealingKey, random, publicUrl }: WebDeps): FormGuard {
	const signer = createSigner(sealingKey, "forms");
	const visitCookie = cookieName(publicUrl, "visit");
	const bindings = new WeakMap<WebContext, string>();
	const bindingOf = (c: WebContext): string | undefined => {
		const visit = getCookie(c, visitCookie);
		return bindings.get(c) ?? (visit === undefined ? undefined : `visit ${visit}`);
	};
	return {
		token(c) {
			const known = bindingOf(c);
			if (known !== undefined) return signer.sign(known);
			const visit = random.hex(VISIT_BYTES);
			setCookie(c, visitCookie, visit, cookieOptions(publicUrl));
			bindings.set(c, `visit ${visit}`);
			return signer.sign(`visit ${visit}`);
		},
		isOwn(c, token) {
			const known = bindingOf(c);
			return known !== undefined && typeof token === "string" && signer.isSignature(token, known);
		},
		bindToSession: (c, sessionToken) => void bindings.set(c, `session ${sessionToken}`),
	};
}
