// Replaces one export of one module for this process. Node's module hooks answer the first import of that module with a
// stand-in, which exports everything that the genuine module exports, but the replaced export can be set.

import { registerHooks } from "node:module";
import type { Defect } from "./defects.ts";

/** Marks the URL under which the stand-in imports the genuine module. */
const GENUINE = "?genuine";

let setExport: ((faulty: unknown) => void) | undefined;

/** Called by the stand-in when it is loaded. */
export function onStandInLoaded(set: (faulty: unknown) => void): void {
	setExport = set;
}

/** Must be called before anything else imports the module, because modules are loaded once. */
export async function plantDefect(defect: Defect): Promise<void> {
	let target: string | undefined;
	registerHooks({
		resolve(specifier, context, nextResolve) {
			const resolved = nextResolve(specifier, context);
			// The first import after this registration is the one that the defect makes.
			target ??= resolved.url;
			return resolved;
		},
		load(url, context, nextLoad) {
			if (url !== target) return nextLoad(url, context);
			return { format: "module", source: writeStandIn(url, defect.replaces), shortCircuit: true };
		},
	});
	await defect.plant((faulty) => {
		if (setExport === undefined) throw new Error(`"${defect.name}" was planted too late: ${target}`);
		setExport(faulty);
	});
}

function writeStandIn(url: string, name: string): string {
	const genuine = JSON.stringify(url + GENUINE);
	return `
		import { onStandInLoaded } from ${JSON.stringify(import.meta.url)};
		import { ${name} as genuine } from ${genuine};
		export * from ${genuine};
		let present = genuine;
		export { present as ${name} };
		onStandInLoaded((faulty) => { present = faulty; });
	`;
}
