// An admin of the shop: its screens, and how to sign in.

import LoginIcon from "@mui/icons-material/Login";
import {
  Admin,
  Form,
  Login,
  PasswordInput,
  Resource,
  required,
  SaveButton,
  useLogin,
  useNotify,
} from "react-admin";
import { createRoot } from "react-dom/client";
import { authProvider, dataProvider } from "./api.ts";
import { customers } from "./customers.tsx";
import { orders } from "./orders.tsx";
import { products } from "./products.tsx";
import { suppliers } from "./suppliers.tsx";

function SignIn() {
  const login = useLogin();
  const notify = useNotify();
  const signIn = (values: object) =>
    login(values).catch(() => notify("This token is not valid.", { type: "error" }));
  return (
    <Login>
      <Form onSubmit={signIn}>
        <div style={{ padding: "0 1em 1em", minWidth: 300 }}>
          <PasswordInput source="token" label="Token" validate={required()} fullWidth />
          <SaveButton label="Sign in" icon={<LoginIcon />} alwaysEnable fullWidth />
        </div>
      </Form>
    </Login>
  );
}

const Shop = () => (
  <Admin
    title="Shop"
    dataProvider={dataProvider}
    authProvider={authProvider}
    loginPage={SignIn}
    requireAuth
  >
    <Resource name="products" {...products} />
    <Resource name="orders" {...orders} />
    <Resource name="customers" {...customers} />
    <Resource name="suppliers" {...suppliers} />
  </Admin>
);

const root = document.getElementById("root");
if (root) createRoot(root).render(<Shop />);
