// The start page: what this is, that it runs, and where to go next.

import { readFileSync } from "node:fs";
import type { Context, Env, Hono } from "hono";
import { html } from "hono/html";

export interface StartPageDeps {
	publicUrl: string;
	/** Callbacks may go to private addresses: a development setting that must not go unnoticed. */
	allowsPrivateRanges: boolean;
}

const STYLE_PATH = "/assets/start-page.css";
export const START_PAGE_PATHS: readonly string[] = ["/", STYLE_PATH];
/** Short: the name has no version in it, and an upgrade should show soon. */
const STYLE_CACHE_SECONDS = 300;

export function mountStartPage<AppEnv extends Env>(app: Hono<AppEnv>, deps: StartPageDeps): void {
	const style = readFileSync(new URL("start-page.css", import.meta.url), "utf8");
	app.get("/", (c: Context<AppEnv>) => c.html(startPage(deps)));
	app.get(STYLE_PATH, (c: Context<AppEnv>) =>
		c.body(style, 200, {
			"content-type": "text/css; charset=utf-8",
			"cache-control": `public, max-age=${STYLE_CACHE_SECONDS}`,
		}),
	);
}

function startPage({ publicUrl, allowsPrivateRanges }: StartPageDeps): ReturnType<typeof html> {
	return html`<!doctype html>
<html lang="en">
	<head>
		<meta charset="utf-8">
		<meta name="viewport" content="width=device-width, initial-scale=1">
		<meta name="color-scheme" content="light dark">
		<title>Ringback runs</title>
		<link rel="stylesheet" href="${STYLE_PATH}">
	</head>
	<body>
		<main>
			${allowsPrivateRanges ? warning() : ""}
			<p class="state"><span class="dot" aria-hidden="true"></span> Running at ${publicUrl}</p>
			<h1>Ringback</h1>
			<p class="lead">
				Tracks conversions, and tells the shop of every status change by a signed, retried and logged
				callback.
			</p>
			<h2>Begin</h2>
			<ol>
				<li>
					Make the shop’s person.
					<pre><code>npx ringback user create --email owner@shop.example --role owner</code></pre>
				</li>
				<li>
					Make the shop’s programme.
					<pre><code>npx ringback programme create --name Shop --owner owner@shop.example \\
  --currency EUR --commission 8 --fee 2 --approval-days 30</code></pre>
				</li>
				<li>
					Issue its API key. The first one brings the signing secret.
					<pre><code>npx ringback key issue --programme prg_…</code></pre>
				</li>
				<li>
					Report a sale, signed: <code>POST ${publicUrl}/v1/conversions</code>
				</li>
			</ol>
			<nav aria-label="Operations">
				<a href="/healthz">Health</a>
				<a href="/readyz">Readiness</a>
				<a href="/metrics">Metrics</a>
			</nav>
		</main>
	</body>
</html>`;
}

function warning(): ReturnType<typeof html> {
	return html`<p class="warning" role="alert">
				<strong>Development setting is on.</strong> RINGBACK_ALLOWED_PRIVATE_RANGES lets callbacks go to
				private addresses. Never run it like this in production.
			</p>`;
}
