// /downloads: what a shop installs from this service, how, and how to be sure that it is what was meant.

import { DOWNLOADS, type Download, downloadUrl } from "../downloads.ts";
import type { WebContext, WebDeps } from "../page.ts";
import { DOCS_PATH } from "../paths.ts";
import { codeBlock, copyable, count, facts, type Html, html } from "../ui.ts";
import { answerDocs } from "./docs-document.ts";

export function showDownloads(c: WebContext, { publicUrl }: Pick<WebDeps, "publicUrl">): Promise<Response> {
	const [present, ...earlier] = DOWNLOADS;
	const outline = [
		{ id: "install", text: "Install", depth: 2 },
		{ id: "checksums", text: "Checksums", depth: 2 },
		...(earlier.length === 0 ? [] : [{ id: "earlier", text: "Earlier versions", depth: 2 }]),
	];
	return answerDocs(c, {
		title: "Downloads",
		active: "downloads",
		outline,
		body: html`<p>The library <code>@ringback/receiver</code> for JavaScript and TypeScript: it checks and answers callbacks, signs your requests, and brings events to a developer's machine. It comes from this service and has no dependencies. The <a href="${DOCS_PATH}#quick-start">quick start</a> shows how to use it; for other languages there are <a href="${DOCS_PATH}#receivers-by-language">whole programs to copy</a>.</p>
<h2 id="install">Install</h2>
${codeBlock(`npm install ${downloadUrl(publicUrl, present)}`, "the command to install it")}
<p>Or try its commands without installing anything:</p>
${codeBlock(`npx -p ${downloadUrl(publicUrl, present)} ringback --help`, "the command to try it")}
<p>The package is in no public registry: install it by this address. <code>npx ringback</code> alone would run whatever somebody else may have registered under that name; once it is installed, write <code>npx --no-install ringback</code>.</p>
<p>If this address has a certificate of a private authority, tell npm to trust it: <code>npm config set cafile /path/to/ca.pem</code>. If npm answers that <code>allow-remote</code> forbids it, add <code>--allow-remote=root</code>.</p>
<h2 id="checksums">Checksums</h2>
<p>A published version never changes and stays at its address. npm keeps its hash in your lock file and refuses anything else.</p>
${describeDownload(present, publicUrl)}
${earlier.length === 0 ? null : html`<h2 id="earlier">Earlier versions</h2>${earlier.map((download) => describeDownload(download, publicUrl))}`}`,
	});
}

function describeDownload(download: Download, publicUrl: string): Html {
	const { version, file, bytes, sha256, integrity } = download;
	return facts([
		["Version", version],
		[
			"File",
			html`<a class="break" href="${downloadUrl(publicUrl, download)}">${file}</a>, ${count(bytes)} bytes`,
		],
		["SHA-256", copyable(sha256, "the SHA-256")],
		["Integrity (npm)", copyable(integrity, "the integrity")],
	]);
}
