// What the network brings to the look of the pages: its logo, and its colour as a style sheet of a few variables. Both
// under an address that changes with them, so that a browser may keep them for ever.

import type { Env, Hono } from "hono";
import { makeTheme, type Theme } from "../domain/colour.ts";
import { findLogo } from "../store/network.ts";
import type { Store } from "../store/store.ts";
import { KEPT_FOR_EVER, STYLE } from "./assets.ts";

export function themeUrl(colour: string): string {
	return `/assets/theme/${colour.slice(1)}.css`;
}

export function logoUrl(hash: string): string {
	return `/assets/logo/${hash}`;
}

export function mountNetworkAssets<AppEnv extends Env>(app: Hono<AppEnv>, { db }: Pick<Store, "db">): void {
	// Made from the colour in its address alone: every process answers it alike, whatever the network has chosen by now.
	app.get("/assets/theme/:name", (c) => {
		const [, digits] = /^([\da-f]{6})\.css$/.exec(c.req.param("name")) ?? [];
		if (digits === undefined) return c.notFound();
		return c.body(writeTheme(makeTheme(`#${digits}`)), 200, {
			"content-type": STYLE,
			"cache-control": KEPT_FOR_EVER,
		});
	});
	app.get("/assets/logo/:hash", async (c) => {
		const hash = c.req.param("hash");
		const logo = /^[\da-f]{16}$/.test(hash) ? await findLogo(db, hash) : undefined;
		if (logo === undefined) return c.notFound();
		return c.body(Uint8Array.from(logo.bytes), 200, {
			"content-type": logo.type,
			"cache-control": KEPT_FOR_EVER,
		});
	});
}

const VARIABLES: Readonly<Record<keyof Theme, string>> = {
	accent: "--accent",
	accentHover: "--accent-hover",
	accentInk: "--accent-ink",
	accentSoft: "--accent-soft",
	accentText: "--accent-text",
};

function writeTheme(theme: Theme): string {
	const lines = Object.entries(VARIABLES).map(([name, variable]) => {
		const { light, dark } = theme[name as keyof Theme];
		return `${variable}:light-dark(${light},${dark})`;
	});
	return `:root{${lines.join(";")}}`;
}
