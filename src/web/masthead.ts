// The network on every page: its name and logo at the top, its colour, and below the page whom to ask.

import { html } from "hono/html";
import { networkName } from "../domain/network.ts";
import type { KnownLogo, NetworkFace } from "../store/known-network.ts";
import { attrs, type Html } from "./html.ts";
import { logoUrl, themeUrl } from "./network-assets.ts";
import { START_PATH } from "./paths.ts";

export type Masthead = Pick<NetworkFace, "name" | "brand" | "logo" | "colour" | "supportAddress">;

/** What stands in a title, and where the network is spoken of. */
export function titleOf(face: Masthead): string {
	return networkName(face) ?? "Ringback";
}

/** A picture twice as wide as high holds the name already. */
const WORDMARK_RATIO = 2;

export function masthead(face: Masthead): Html {
	const { logo } = face;
	const isWordmark = logo !== null && logo.width >= WORDMARK_RATIO * logo.height;
	const name = html`<span${attrs({ class: ["brand-name", isWordmark && "visually-hidden"] })}>${titleOf(face)}</span>`;
	return html`<a class="brand" href="${START_PATH}">${logo === null ? MARK : logoImage(logo)}${name}</a>`;
}

/** Its name stands beside it, seen or not. */
export function logoImage({ hash, width, height }: KnownLogo): Html {
	return html`<img class="brand-logo" src="${logoUrl(hash)}" alt="" width="${width}" height="${height}">`;
}

const MARK = html`<svg class="brand-mark" viewBox="0 0 24 24" aria-hidden="true"><path d="M4 12a8 8 0 1 0 8-8"/><path d="M12 8a4 4 0 1 1-4 4"/><circle cx="12" cy="12" r="0.6"/></svg>`;

/** After the sheet whose variables it changes. */
export function themeLink({ colour }: Masthead): Html | null {
	return colour === null ? null : html`<link rel="stylesheet" href="${themeUrl(colour)}">`;
}

export function pageFooter({ supportAddress }: Masthead): Html {
	return html`<footer class="page-footer">${
		supportAddress === null
			? null
			: html`<span>Questions? <a href="mailto:${supportAddress}">${supportAddress}</a></span>`
	}<span>Runs on Ringback</span></footer>`;
}
