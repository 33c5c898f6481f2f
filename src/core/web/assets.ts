// Serves style sheets, scripts and the icon. Their addresses contain a hash of their content. Browsers may therefore
// cache them permanently, and still load the new files after an upgrade.

import { createHash } from "node:crypto";
import type { Env, Hono } from "hono";
import { readShippedFile } from "../../shipped-files.ts";
import { findLogo } from "../store/queries/network.ts";
import type { Store } from "../store/store.ts";

interface Asset {
	/** Content of the file. All responses share this one copy. */
	body: Uint8Array<ArrayBuffer>;
	type: string;
	hash: string;
}

/** Cache header for files whose address contains a hash of their content. */
export const CACHED_FOR_EVER = "public, max-age=31536000, immutable";
const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

/**
 * Style sheets that are joined into one file, in this order. docs.css is separate, because only the pages of
 * /docs need it.
 */
const SHEETS = ["base.css", "frame.css", "pieces.css", "forms.css", "tables.css", "statement.css"];

const ASSETS: ReadonlyMap<string, Asset> = new Map(
	(
		[
			["style.css", SHEETS.map(ownFile).join("\n"), STYLE],
			["docs.css", ownFile("docs.css"), STYLE],
			["page.js", ownFile("page.js"), SCRIPT],
			["icon.svg", ownFile("icon.svg"), "image/svg+xml"],
			["htmx.js", packageFile("htmx.org/dist/htmx.min.js"), SCRIPT],
			["uplot.js", packageFile("uplot/dist/uPlot.iife.min.js"), SCRIPT],
			["uplot.css", packageFile("uplot/dist/uPlot.min.css"), STYLE],
		] as const
	).map(([name, text, type]) => {
		const body = new TextEncoder().encode(text);
		const hash = createHash("sha256").update(body).digest("hex").slice(0, 12);
		return [name, { body, type, hash }];
	}),
);

export function assetUrl(name: string): string {
	const asset = ASSETS.get(name);
	if (asset === undefined) throw new Error(`there is no asset ${name}`);
	return `/assets/${name}?v=${asset.hash}`;
}

/** Returns the address of the style sheet with the network's colour, which is part of the address. */
export function themeUrl(colour: string): string {
	return `/assets/theme/${colour.slice(1)}.css`;
}

export function logoUrl(hash: string): string {
	return `/assets/logo/${hash}`;
}

export function mountAssets<AppEnv extends Env>(app: Hono<AppEnv>, { db }: Pick<Store, "db">): void {
	const cached = (type: string) => ({ "content-type": type, "cache-control": CACHED_FOR_EVER });
	app.get("/assets/:name", (c) => {
		const asset = ASSETS.get(c.req.param("name"));
		if (asset === undefined) return c.notFound();
		// During an upgrade, a page of one version may load assets from a process of the other version. If the
		// hash in the address does not match the file, the answer must not be cached.
		const isMeant = c.req.query("v") === asset.hash;
		return c.body(asset.body, 200, {
			...cached(asset.type),
			...(isMeant ? {} : { "cache-control": "no-store" }),
		});
	});
	// The sheet depends only on the colour in its address, so all processes give the same answer.
	app.get("/assets/theme/:name", (c) => {
		const [, digits] = /^([\da-f]{6})\.css$/.exec(c.req.param("name")) ?? [];
		return digits === undefined ? c.notFound() : c.body(writeTheme(`#${digits}`), 200, cached(STYLE));
	});
	app.get("/assets/logo/:hash", async (c) => {
		const hash = c.req.param("hash");
		const logo = /^[\da-f]{16}$/.test(hash) ? await findLogo(db, hash) : undefined;
		return logo === undefined ? c.notFound() : c.body(Uint8Array.from(logo.bytes), 200, cached(logo.type));
	});
}

function ownFile(name: string): string {
	return readShippedFile(`src/core/web/assets/${name}`);
}

function packageFile(path: string): string {
	return readShippedFile(`node_modules/${path}`);
}

/**
 * Returns the style sheet's variables for the network's colour. The colour's lightness is limited so that
 * text stays readable in both themes. The limits were tested with 239 colours, including the corners of the
 * colour cube, on every background of base.css. Links and the text of buttons have a contrast of at least
 * 4.5, and buttons of at least 3 (WCAG 2.2, 1.4.3 and 1.4.11). A browser that does not support relative
 * colours shows the default colour.
 */
function writeTheme(colour: string): string {
	const bounded = (light: number, dark: number) =>
		`light-dark(oklch(from ${colour} min(l,${light}) c h),oklch(from ${colour} max(l,${dark}) c h))`;
	const soft = `light-dark(color-mix(in srgb,${colour} 10%,#fff),color-mix(in srgb,${colour} 22%,#151a21))`;
	return `@supports (color:oklch(from red l c h)){:root{--accent:${bounded(0.51, 0.7)};--accent-text:${bounded(0.47, 0.82)};--accent-ink:light-dark(#fff,#000);--accent-soft:${soft}}}`;
}
