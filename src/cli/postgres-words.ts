// How PostgreSQL's own programs are told which database is meant: without the password, which everybody on the machine
// could read in the list of processes.

import { quote } from "../domain/shell-words.ts";

const USUAL_PORT = "5432";

export function databaseOption(url: string): string {
	const shown = new URL(url);
	shown.password = "";
	return `--dbname=${quote(String(shown))}`;
}

export function describePassword(url: string): string {
	const { hostname, port, pathname, username } = new URL(url);
	const line = [
		hostname,
		port || USUAL_PORT,
		decodeURIComponent(pathname.slice(1)),
		decodeURIComponent(username),
	];
	return `It asks for the password. In a script set PGPASSFILE to a file of mode 600 with the line ${line.join(":")}:PASSWORD.`;
}
