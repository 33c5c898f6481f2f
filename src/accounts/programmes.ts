// What is said where a programme is asked for by an id that none has.

import { refuse } from "../domain/fault.ts";

export function unknownProgramme(publicId: string): ReturnType<typeof refuse> {
	return refuse("unknown_programme", `There is no programme ${publicId}. Check the id: it starts with prg_.`);
}
