// Replaces one export of one module in this process. Node's module hooks answer the first import of that module with a
// stand-in. The stand-in has the same exports as the genuine module, but the replaced export can be set.

import { registerHooks } from "node:module";
import type { Defect } from "./defects.ts";

/** Suffix of the URL under which the stand-in imports the genuine module. */
const GENUINE = "?genuine";

let setExport: ((faulty: unknown) => void) | undefined;

/** Receives the function that sets the replaced export. The stand-in calls this function when it is loaded. */
export function onStandInLoaded(set: (faulty: unknown) => void): void {
	setExport = set;
}

/**
 * Plants the defect. This must be called before anything else imports the module, because a module is loaded only
 * once.
 */
export async function plantDefect(defect: Defect): Promise<void> {
	let target: string | undefined;
	registerHooks({
		resolve(specifier, context, nextResolve) {
			const resolved = nextResolve(specifier, context);
			// The first import after this registration is made by the defect itself.
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
