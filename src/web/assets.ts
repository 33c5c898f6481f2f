// Style, scripts and the icon: read once, named with the hash of their content, so that a browser may keep them
// for ever and still gets the new ones after an upgrade.

import { createHash } from "node:crypto";
import type { Env, Hono } from "hono";
import { readShippedFile } from "../shipped-files.ts";

interface Asset {
	body: string;
	type: string;
	hash: string;
}

const CACHE_SECONDS = 31_536_000;
/** For what has its content's hash in its address. */
export const KEPT_FOR_EVER = `public, max-age=${CACHE_SECONDS}, immutable`;
const SCRIPT = "text/javascript; charset=utf-8";
export const STYLE = "text/css; charset=utf-8";

/** Sent as one file, in this order; docs.css goes to the pages of /docs alone. */
const SHEETS = ["base.css", "frame.css", "pieces.css", "forms.css", "tables.css"];

const ASSETS: ReadonlyMap<string, Asset> = new Map(
	(
		[
			["style.css", SHEETS.map(ownFile).join("\n"), STYLE],
			["docs.css", ownFile("docs.css"), STYLE],
			["page.js", ownFile("page.js"), SCRIPT],
			["icon.svg", ownFile("icon.svg"), "image/svg+xml"],
			// In one file: htmx reads the page right after its own script, and an extension that is registered later
			// would miss the event streams named there.
			[
				"htmx.js",
				`${packageFile("htmx.org/dist/htmx.min.js")}\n${packageFile("htmx.org/dist/ext/hx-sse.min.js")}`,
				SCRIPT,
			],
			["uplot.js", packageFile("uplot/dist/uPlot.iife.min.js"), SCRIPT],
			["uplot.css", packageFile("uplot/dist/uPlot.min.css"), STYLE],
		] as const
	).map(([name, body, type]) => {
		const hash = createHash("sha256").update(body).digest("hex").slice(0, 12);
		return [name, { body, type, hash }];
	}),
);

export function assetUrl(name: string): string {
	const asset = ASSETS.get(name);
	if (asset === undefined) throw new Error(`there is no asset ${name}`);
	return `/assets/${name}?v=${asset.hash}`;
}

export function mountAssets<AppEnv extends Env>(app: Hono<AppEnv>): void {
	app.get("/assets/:name", (c) => {
		const asset = ASSETS.get(c.req.param("name"));
		if (asset === undefined) return c.notFound();
		// During an upgrade a page of the old version may ask a process of the new one, or the other way round: an
		// answer that does not fit the hash must not be cached under it.
		const isMeant = c.req.query("v") === asset.hash;
		return c.body(asset.body, 200, {
			"content-type": asset.type,
			"cache-control": isMeant ? KEPT_FOR_EVER : "no-store",
		});
	});
}

function ownFile(name: string): string {
	return readShippedFile(`src/web/assets/${name}`);
}

function packageFile(path: string): string {
	return readShippedFile(`node_modules/${path}`);
}
