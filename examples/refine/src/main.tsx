// An admin of the shop: its screens, and how to sign in.

import { Authenticated, Refine, useLogin, useLogout } from "@refinedev/core";
import routerProvider from "@refinedev/react-router";
import { createRoot } from "react-dom/client";
import { HashRouter, Navigate, NavLink, Outlet, Route, Routes } from "react-router";
import { authProvider, dataProvider } from "./api.ts";
import { CustomerForm, CustomerList } from "./customers.tsx";
import { Notice, notificationProvider } from "./notice.tsx";
import { OrderForm, OrderList, OrderShow } from "./orders.tsx";
import { ProductForm, ProductList, ProductShow } from "./products.tsx";
import "./style.css";

const resources = ["products", "orders", "customers"].map((name) => ({
  ...{ name, list: `/${name}`, create: `/${name}/create` },
  ...{ edit: `/${name}/:id/edit`, show: `/${name}/:id` },
}));

function SignIn() {
  const { mutate: login } = useLogin<{ readonly token: string }>();
  const signIn = (form: FormData) => login({ token: `${form.get("token")}` });
  return (
    <form action={signIn} className="fields">
      <h1>Shop</h1>
      <label>
        Token <input name="token" type="password" required />
      </label>
      <button type="submit">Sign in</button>
    </form>
  );
}

function Frame() {
  const { mutate: logout } = useLogout();
  return (
    <>
      <nav>
        <NavLink to="/products">Products</NavLink>
        <NavLink to="/orders">Orders</NavLink>
        <NavLink to="/customers">Customers</NavLink>
        <button type="button" onClick={() => logout()}>
          Sign out
        </button>
      </nav>
      <main>
        <Outlet />
      </main>
    </>
  );
}

const Shop = () => (
  <HashRouter>
    <Refine
      dataProvider={dataProvider}
      authProvider={authProvider}
      notificationProvider={notificationProvider}
      routerProvider={routerProvider}
      resources={resources}
      options={{ disableTelemetry: true }}
    >
      <Routes>
        <Route path="/login" element={<SignIn />} />
        <Route
          element={
            <Authenticated key="shop" redirectOnFail="/login">
              <Frame />
            </Authenticated>
          }
        >
          <Route index element={<Navigate to="/products" />} />
          <Route path="/products" element={<ProductList />} />
          <Route path="/products/create" element={<ProductForm action="create" />} />
          <Route path="/products/:id" element={<ProductShow />} />
          <Route path="/products/:id/edit" element={<ProductForm action="edit" />} />
          <Route path="/orders" element={<OrderList />} />
          <Route path="/orders/create" element={<OrderForm action="create" />} />
          <Route path="/orders/:id" element={<OrderShow />} />
          <Route path="/orders/:id/edit" element={<OrderForm action="edit" />} />
          <Route path="/customers" element={<CustomerList />} />
          <Route path="/customers/create" element={<CustomerForm action="create" />} />
          <Route path="/customers/:id/edit" element={<CustomerForm action="edit" />} />
        </Route>
      </Routes>
      <Notice />
    </Refine>
  </HashRouter>
);

const root = document.getElementById("root");
if (root) createRoot(root).render(<Shop />);
