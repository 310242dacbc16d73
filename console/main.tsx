// Starts the console in the browser.

// First, because the router reads the address.
import "./state/sign-in-link.ts";

import { render } from "preact";
import { App } from "./shell/app.tsx";
import "./styles/main.css";

render(<App />, document.body);
