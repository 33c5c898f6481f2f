// A new logo, or none. What is uploaded is judged by its bytes.

import { removeLogo, saveLogo } from "../../accounts/network.ts";
import { type Fault, fault, succeed } from "../../domain/fault.ts";
import { MAX_LOGO_BYTES } from "../../domain/image.ts";
import type { WebDeps } from "../deps.ts";
import type { Upload, WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { NETWORK_PATH } from "../paths.ts";
import { viewerOf } from "../viewer.ts";
import { answerNetwork } from "./network-page.ts";

const LOGO_ANCHOR = `${NETWORK_PATH}#logo`;

export async function uploadLogo(c: WebContext, deps: WebDeps): Promise<Response> {
	const upload = c.get("upload") ?? succeed(null);
	if (!upload.ok) return answerNetwork(c, deps, { logoFault: inOurWords(upload.fault) });
	if (upload.value === null) {
		const logoFault = fault("invalid_image", "Choose a picture first.", "file");
		return answerNetwork(c, deps, { logoFault });
	}
	const saved = await saveLogo(deps, viewerOf(c).personId, await readStart(upload.value));
	if (!saved.ok) return answerNetwork(c, deps, { logoFault: saved.fault });
	setFlash(c, "good", "The logo is saved.");
	return c.redirect(LOGO_ANCHOR, 303);
}

export async function dropLogo(c: WebContext, deps: WebDeps): Promise<Response> {
	await removeLogo(deps, viewerOf(c).personId);
	setFlash(c, "good", "The logo is removed.");
	return c.redirect(LOGO_ANCHOR, 303);
}

/** No more than one byte too many is ever held. */
async function readStart(upload: Upload): Promise<Uint8Array> {
	const pieces: Uint8Array[] = [];
	let bytes = 0;
	for await (const piece of upload.read()) {
		pieces.push(piece);
		bytes += piece.length;
		if (bytes > MAX_LOGO_BYTES) break;
	}
	return Buffer.concat(pieces).subarray(0, MAX_LOGO_BYTES + 1);
}

/** The guard's own are about files of rows. */
function inOurWords(found: Fault): Fault {
	if (found.code !== "body_too_large") return found;
	return {
		...found,
		detail: `The picture is larger than ${MAX_LOGO_BYTES / 1_024} KB. Choose a smaller one.`,
	};
}
